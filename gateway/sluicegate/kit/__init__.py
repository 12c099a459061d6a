"""What plugins are built with beside the nouns; they get all of it from `api`."""
