"""A statement as an Excel workbook, one sheet a table, and a comparison as another."""
