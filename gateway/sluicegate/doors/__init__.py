"""What every door for recipients is made of: names found, parameters read, pages made."""
