"""What leaves the house: private names, numbers and plans are found and taken out."""
