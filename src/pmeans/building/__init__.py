"""From trainer files and recipes to finished models: the graph of spaces, packing, fitting, cards.

`pmeans.training` makes one word space from its material; what needs several, an encoder, or a
folder of files to ship, is here.
"""
