"""How changes of single resources and of shares files are computed and made."""
