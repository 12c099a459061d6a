"""Building blocks of all protocols: name resolution, request parameters, pagination."""
