"""The description of activation links."""
