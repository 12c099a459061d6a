"""What both the Admin API and the console do for administrators."""
