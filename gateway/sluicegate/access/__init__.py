"""Authentication, recipients, grants and policies, and the shares file that declares them."""
