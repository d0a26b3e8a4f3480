"""As many connections as one can open at once, to a listed name or to many that are not; how many of them lived."""
import resource, select, socket, time

place = json.loads(sys.argv[1])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
names = place["names"]
addresses = [socket.gethostbyname(name) for name in names]
opened = []
for number in range(min(place["count"], hard - 64)):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex((addresses[number % len(addresses)], 80))
    opened.append(one)
results["opened"] = len(opened)
answered, gone = 0, 0
poll = select.poll()
by_number = {one.fileno(): one for one in opened}
for number in by_number:
    poll.register(number, select.POLLOUT)
end = time.time() + place["seconds"]
asked = set()
while time.time() < end and len(by_number) > 0:
    for number, events in poll.poll(200):
        one = by_number[number]
        try:
            if number not in asked:
                one.send(("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % place["names"][0]).encode())
                asked.add(number)
                poll.modify(number, select.POLLIN)
                continue
            answered += 1 if one.recv(100) != b"" else 0
        except OSError:
            gone += 1
        poll.unregister(number)
        del by_number[number]
results["answered"], results["gone"] = answered, gone
tell()
