"""The functions behind `import specplan`: the plans and runs that the commands make."""
