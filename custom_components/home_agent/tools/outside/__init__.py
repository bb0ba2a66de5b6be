"""What goes to servers outside the home, and what tools of others look like."""
