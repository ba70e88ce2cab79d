"""What one program is made of and how it grows: copies of bodies, equal computations, literals, loops, classes."""
