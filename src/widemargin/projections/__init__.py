"""Euclidean projections that the methods are built from, each in expected linear time."""

from widemargin.projections.block_step import block_step as block_step
from widemargin.projections.box import project_box as project_box
from widemargin.projections.simplex import project_l1_ball as project_l1_ball
from widemargin.projections.simplex import project_simplex as project_simplex
