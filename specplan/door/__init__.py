"""The functions behind `import specplan`: the same plans and runs as the commands."""
