"""Requests that arrive at a server: in closed form, event by event, and what to draft for them."""
