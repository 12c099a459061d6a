"""Shares a table in steps, whose state is in the forms and checked again in each of them."""
