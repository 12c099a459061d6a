"""Activation links, with which recipients download their profile once."""
