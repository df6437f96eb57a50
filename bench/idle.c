// Opens CONNECTIONS keep-alive connections, takes one reply on each, then holds them idle until its
// standard input ends. Prints "idle N" when all are. usage: idle HOST PORT PATH CONNECTIONS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fail(const char *what) { perror(what); return 1; }

int main(int argc, char **v) {
  if (argc != 5) return fprintf(stderr, "usage: idle HOST PORT PATH CONNECTIONS\n"), 2;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(v[2]))};
  inet_pton(AF_INET, v[1], &to.sin_addr);
  int n = atoi(v[4]), *fds = calloc(n, sizeof *fds);
  char request[1024], reply[65536];
  int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", v[3]);
  for (int i = 0; i < n; i++) {
    fds[i] = socket(AF_INET, SOCK_STREAM, 0);
    if (fds[i] < 0 || connect(fds[i], (void *)&to, sizeof to)) return fail("connect");
    if (send(fds[i], request, length, 0) != length) return fail("send");
    long got = 0, want = -1;  // Head and body: known once the head is there.
    while (got != want) {
      long r = recv(fds[i], reply + got, sizeof reply - 1 - got, 0);
      if (r <= 0) return fail("recv");
      got += r;
      reply[got] = 0;
      char *end = strstr(reply, "\r\n\r\n"), *size = strstr(reply, "Content-Length: ");
      if (want < 0 && end && size) want = end + 4 - reply + atol(size + 16);
    }
  }
  printf("idle %d\n", n);
  fflush(stdout);
  while (read(0, reply, sizeof reply) > 0) {}
}
