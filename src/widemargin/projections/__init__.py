"""Euclidean projections and proximal steps, each in expected linear time."""

from widemargin.projections.block_step import block_step as block_step
from widemargin.projections.box import project_box as project_box
from widemargin.projections.chain import project_chain as project_chain
from widemargin.projections.epigraph import project_ball_hyperplane as project_ball_hyperplane
from widemargin.projections.epigraph import project_epigraph as project_epigraph
from widemargin.projections.robust_prox import ProxStep as ProxStep
from widemargin.projections.robust_prox import robust_prox as robust_prox
from widemargin.projections.simplex import project_l1_ball as project_l1_ball
from widemargin.projections.simplex import project_simplex as project_simplex
