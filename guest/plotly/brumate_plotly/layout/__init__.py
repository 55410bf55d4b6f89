"""The parts of a picture beside its subplots: margins, titles, legend, annotations."""
