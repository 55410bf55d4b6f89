import sys

assert sys.version_info[:2] == (3, 14), sys.version
