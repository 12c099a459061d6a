"""Who may read what: recipients, their tokens and grants, and the file that declares them."""
