"""Measuring in stages what synthetic records are made from: what each stage measures, and the gate that counts."""
