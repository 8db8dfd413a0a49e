"""SIF and uSIF: means weighted by frequency, without their common directions."""
