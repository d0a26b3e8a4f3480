"""Fills every directory in memory, with bytes and with names, and says how much of each there was."""
names = 0


def fill(directory):
    written = 0
    try:
        with open(directory + "/fill", "wb", buffering=0) as file:
            while True:
                written += file.write(bytes(65536))
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
    return written


def fill_names(directory):
    count = 0
    try:
        while count < 200000:
            os.close(os.open("%s/empty-%d" % (directory, count), os.O_CREAT))
            count += 1
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
    return count


for place in ["/tmp", "/var/tmp", "/run", "/dev/shm"]:
    attempt(place, lambda: fill(place))
for place in ["/tmp", "/var/tmp", "/run", "/dev/shm"]:
    os.unlink(place + "/fill")
attempt("names", lambda: fill_names("/tmp"))
tell()
