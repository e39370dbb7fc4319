// The bytes that each NIC port of a host sends and receives while a collective runs, from the
// kernel's counters: a port that stopped carrying shows there, while the bandwidth of a collective
// whose traffic moved to another port may look alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/nccl/communicator/peer.pb.h"

namespace railgauge::nccl {

// The folder in whose place "/sys" is read; set by tests, before threads start.
const std::string& ports_folder();
void set_ports_folder(std::string folder);

// Reads the counters below one folder. Devices are looked up once. Not thread safe.
class PortReader {
 public:
  // `sysfs` is "/sys", or a folder in its place. A file that cannot be read counts nothing.
  explicit PortReader(const std::string& sysfs);
  // Returns the bytes of each port since boot: RDMA ports ("mlx5_0:1"), and interfaces with a
  // device
  // ("eth0"), which count other bytes than the RDMA ports above them.
  [[nodiscard]] std::vector<PortBytes> read() const;

 private:
  struct Port {
    std::string name;
    bool is_rdma = false;
    std::string sent;
    std::string received;
    double unit = 1;  // bytes of one count
  };
  std::vector<Port> ports_;
};

// Returns the growth of each port; `after` is a later reading of the same reader. Pure.
std::vector<PortBytes> grown_ports(const std::vector<PortBytes>& before,
                                   const std::vector<PortBytes>& after);

// The use of all hosts' ports.
struct PortUse {
  // The bytes that the busiest port of a host sent, over the mean of its ports of that kind (RDMA,
  // or interfaces, whichever sent more), on the host with the most unequal ports. 1: all sent the
  // same; the number of ports: one sent all. 0: nothing was sent.
  double busiest_share = 0;
  // "rank 0's host: mlx5_0:1 sent 1024 received 2048, mlx5_1:1 ...", the most unequal hosts first.
  std::string words;
};
// Judges from the ranks' growth; of ranks on one host the first counts. Pure.
PortUse port_use(const std::vector<Told>& all);

}  // namespace railgauge::nccl
