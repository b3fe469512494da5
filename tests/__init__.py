"""Tests, and what several of them share, each under its folder."""
