"""Recipients, their credentials and their profile files."""
