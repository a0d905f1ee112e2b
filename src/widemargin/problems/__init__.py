"""What is minimised: problems that know their primal, their dual and their certificate."""
