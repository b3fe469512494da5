"""Plans, runs of models and servers, and what they read, as `import specplan` offers them."""
