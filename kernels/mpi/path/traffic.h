// Where the messages of a task went, from the counters of the kernel and of the NICs: never from
// the transport that an MPI was asked for or says that it uses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::mpi {

// Sent since boot, or between two readings. Zero where nothing counts.
struct Sent {
  double bytes = 0;
  double packets = 0;
};

// Everything that one host's devices have sent, by kind. A plain struct: ranks exchange it as
// bytes.
struct Traffic {
  // By RDMA ports whose NIC counts bytes.
  Sent rdma{};
  // Packets of RDMA ports that count packets alone: software RDMA, whose bytes are also counted by
  // the interface beneath.
  double soft_rdma_packets = 0;
  // By interfaces but loopback and those beneath software RDMA.
  Sent netdev{};
  Sent under_soft_rdma{};
  Sent loopback{};
  // The number of RDMA ports, of either sort.
  double rdma_ports = 0;
};

// A node's ports of one kind that sent in a stretch of time, and what they can send. A plain
// struct.
struct Wire {
  double ports = 0;
  // Those of them whose rate is unknown, or a name alone: a software port's, a paravirtual NIC's, a
  // bond member's.
  double without_rate = 0;
  // One direction of the others together.
  double bytes_per_second = 0;
};
Wire plus(const Wire& one, const Wire& other);
// A node's ports, by what carries messages over them. A plain struct.
struct Wires {
  // RDMA ports; the interfaces beneath those that are software.
  Wire rdma{};
  Wire netdev{};
};

// Returns the growth from one reading to the next; a counter that shrank has not grown. Pure.
Traffic grown(const Traffic& before, const Traffic& after);

// Reads the counters below one sysfs folder. Devices are looked up once. Not thread safe.
class TrafficReader {
 public:
  // `sysfs` is "/sys", or a folder in its place. A file that cannot be read counts nothing.
  explicit TrafficReader(const std::string& sysfs);
  // Returns the present values, a file read for each counter.
  [[nodiscard]] Traffic read() const;

  // Packets sent by each port and interface but loopback, in an order of the reader's own.
  using Counts = std::vector<double>;
  [[nodiscard]] Counts counts() const;
  // Returns the ports that sent between two counts of this reader: each with a thousandth of its
  // kind's packets, since other traffic is everywhere.
  [[nodiscard]] Wires used(const Counts& before, const Counts& after) const;

 private:
  // One device's two files; `unit` is the bytes that a count of the first means.
  struct Source {
    std::string bytes{};
    std::string packets{};
    double unit = 1;
    // One direction; 0: no rate that is a bound.
    double bytes_per_second = 0;
  };
  static Sent sum(std::span<const Source> sources);
  static Wire in_use(std::span<const Source> sources, std::span<const double> packets);

  std::vector<Source> rdma_;
  std::vector<Source> soft_rdma_;
  std::vector<Source> netdevs_;
  // Interfaces without a device: bridges, tunnels, and a container's own. They often repeat each
  // other's packets, so the busiest one counts, and only where no interface has a device.
  std::vector<Source> virtual_netdevs_;
  std::vector<Source> under_soft_rdma_;
  std::vector<Source> loopback_;
};

// One rank's part of the evidence. A plain struct.
struct RankTraffic {
  Traffic sent{};
  // Equal for ranks of one running kernel, and for ranks that see the same interfaces.
  std::uint64_t machine = 0;
  std::uint64_t network = 0;
  Wires wires{};
  // Payload that this rank received in the time, in bytes.
  double received_bytes = 0;
};

// Returns this process's `machine` and `network` in a RankTraffic without traffic.
RankTraffic own_place();

// The verdict on one size.
struct Transport {
  // "rdma", "netdev" (a protocol of the kernel's network), "loopback", joined by "+" where several
  // carried the messages; "memory" within one host; "unknown".
  std::string observed{};
  // The devices' counts beside the messages', for people.
  std::string evidence{};
};

// Judges from all ranks' traffic; `samples` is the number of timed calls, each at least one packet
// where a device carries it. A device carries the messages if it sent at least 0.4 of the payload
// that a host must get at least, and 0.5 packets a sample. "memory" needs one host, no carrier, and
// no RDMA port, whose NIC might return packets uncounted. Pure.
Transport transport_of(std::span<const RankTraffic> ranks, double samples);

}  // namespace railgauge::mpi
