"""Tables and pages made from the verdicts."""
