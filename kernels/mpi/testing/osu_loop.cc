// A plain loop in OSU's manner over the same MPI, for comparison with our figures: no sampler, no
// seam, none of our code. Two ranks:
//   mpi-osu-loop-openmpi lat|bw BYTES ITERATIONS SKIPPED WINDOW [ADDED_COST]
// ADDED_COST: after each iteration rank 0 idles for this share of its time. The idle time counts,
// and a comparison must detect it. Rank 0 prints the mean that OSU's programs print, and the median
// of the same iterations: microseconds one way, or bytes per second. For comparisons only; not
// packaged.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kTag = 1;
constexpr int kAnswerTag = 2;

// One rank's buffers and its two loops, written as in osu_latency.c and osu_bw.c.
struct Loop {
  int bytes = 0;
  int window = 1;
  int peer = 0;
  bool first = false;
  std::vector<char> send;
  std::vector<char> receive;
  std::vector<MPI_Request> requests;

  // One round trip; the first rank sends first.
  void ping_pong() {
    if (first) {
      MPI_Send(send.data(), bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
      MPI_Recv(receive.data(), bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(receive.data(), bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(send.data(), bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
    }
  }
  // One window one way, and the receiver's answer.
  void one_window() {
    for (int i = 0; i < window; ++i)
      if (first)
        MPI_Isend(send.data(), bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(receive.data(), bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    int answer = 0;
    if (first)
      MPI_Recv(&answer, 1, MPI_INT, peer, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&answer, 1, MPI_INT, peer, kAnswerTag, MPI_COMM_WORLD);
  }
};

// Busy waiting, so that the added cost is CPU time as a slower library's would be.
void idle(double seconds) {
  for (const double until = MPI_Wtime() + seconds; MPI_Wtime() < until;) {
  }
}

}  // namespace

// No argument is checked: a script calls this program.
int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return 2;
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool latency = std::strcmp(argv[1], "lat") == 0;
  Loop loop;
  loop.bytes = std::atoi(argv[2]);
  loop.window = std::atoi(argv[5]);
  loop.first = rank == 0;
  loop.peer = 1 - rank;
  loop.send.assign(static_cast<std::size_t>(loop.bytes) + 1, 'a');
  loop.receive.assign(static_cast<std::size_t>(loop.bytes) + 1, 'b');
  loop.requests.resize(static_cast<std::size_t>(loop.window));
  const int iterations = std::atoi(argv[3]);
  const int skipped = std::atoi(argv[4]);
  const double added = argc == 7 ? std::atof(argv[6]) : 0;
  std::vector<double> seconds;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = 0;
  for (int i = 0; i < skipped + iterations; ++i) {
    const double before = MPI_Wtime();
    if (i == skipped) begin = before;
    if (latency)
      loop.ping_pong();
    else
      loop.one_window();
    if (loop.first && added > 0) idle(added * (MPI_Wtime() - before));
    if (i >= skipped) seconds.push_back(MPI_Wtime() - before);
  }
  const double mean = (MPI_Wtime() - begin) / iterations;
  std::nth_element(seconds.begin(), seconds.begin() + iterations / 2, seconds.end());
  const double median = seconds[static_cast<std::size_t>(iterations / 2)];
  const double bytes = static_cast<double>(loop.bytes) * loop.window;
  if (loop.first && latency) std::printf("%.3f %.3f\n", mean * 1e6 / 2, median * 1e6 / 2);
  if (loop.first && !latency) std::printf("%.0f %.0f\n", bytes / mean, bytes / median);
  MPI_Finalize();
  return 0;
}
