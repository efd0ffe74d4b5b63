"""What is wrong with an access that left its tensor: its address and its mask, read in the kernel's own text.

The frame of the kernel is still there when an access fails, with the values of all names. So the address is
taken apart as it is written, into indices and strides, and each index is compared with what the mask tests.
Nothing is said unless the parts add up to the very addresses that were accessed.
"""
