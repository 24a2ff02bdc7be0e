"""What the page shows, part by part; `report.html` puts the parts together."""
