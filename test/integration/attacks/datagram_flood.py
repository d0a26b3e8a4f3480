"""As many datagrams as one can send, from one sender, or from as many senders as there are ports."""
import socket, time

place = json.loads(sys.argv[1])
there = (place["address"], place["port"])
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(place["count"]):
    if place["isMany"]:
        one.close()
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", 20000 + number))
    try:
        one.sendto(b"flood %d" % number, there)
    except OSError:
        pass
    # A pace that the device notices for some seconds.
    if number % 1000 == 999:
        time.sleep(place["pause"])
attempt("name", lambda: socket.gethostbyname("allowed.example"))
tell()
