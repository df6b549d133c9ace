"""What is published of a release: files in every format, pictures, maps and the report."""
