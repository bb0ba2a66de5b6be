"""What leaves the home: private names, numbers and plans are found and taken out."""
