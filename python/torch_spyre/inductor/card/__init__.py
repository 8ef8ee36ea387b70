"""A compiled kernel as the card would be told of it: layouts, cores, scratchpads, and a descriptor of each operation.

Nothing here changes what runs: kernels are recorded, and fused, divided and priced with everything around them. This is
the same work by the same planners, one operation at a time, under upstream's names, for whoever writes for the card.
"""
