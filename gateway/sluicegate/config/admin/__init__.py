"""The section `admin`."""
