// The bytes that each NIC port of a host sends and receives while a collective runs, from the
// kernel's counters: a port that stopped carrying shows there, while the bandwidth of a collective
// whose traffic moved to another port may look alike.
#pragma once

#include <cstdint>
#include <map>
#include <set>
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
  // ("eth0"), which count other bytes than the RDMA ports above them. A port whose counters cannot
  // be read has negative ones.
  [[nodiscard]] std::vector<PortBytes> read() const;

 private:
  struct Port {
    std::string name{};
    bool is_rdma = false;
    std::string sent{};
    std::string received{};
    std::string state{};  // of the link
    double unit = 1;      // bytes of one count
    double rate = 0;      // bytes per second, one direction; 0: unknown
  };
  std::vector<Port> ports_;
};

// Returns the growth of each port that was read both times; `after` is a later reading of the same
// reader. Pure.
std::vector<PortBytes> grown_ports(const std::vector<PortBytes>& before,
                                   const std::vector<PortBytes>& after);

// The use of all hosts' ports.
struct PortUse {
  // The bytes of the busiest port of a host, both ways, over the mean of the ports that NCCL's
  // connections use there, on the host with the most unequal ports. 1: all carried the same; the
  // number of ports: one carried all. 0: nothing was carried. Where NCCL does not say which ports
  // it uses, those of the kind (RDMA, or interfaces) that carried more and whose link is up.
  double busiest_share = 0;
  // That host's quietest port over the same mean, and the number of those ports. A port that failed
  // over carried nothing; its traffic may be on all others, whose share is then near 1.
  double quietest_share = 0;
  int ports = 0;
  std::size_t rank = 0;  // the first of the host with the most unequal ports
  // "rank 0's host: mlx5_0:1 sent 1024 received 2048, mlx5_1:1 ...", the most unequal hosts first.
  std::string words;
};
// The ports in use, by host.
using UsedPorts = std::map<std::string, std::set<std::string>>;
// Judges from the ranks' growth; of ranks on one host the first counts. A host with a port that
// carried less than half of the mean is more unequal than any without. Pure.
PortUse port_use(const std::vector<Told>& all, const UsedPorts& used = {});

// One host's ports that carried something of the kind that carried more.
struct HostRate {
  std::vector<std::uint32_t> ranks;
  int ports = 0;
  double bytes_per_second = 0;  // one direction of all; 0: nothing carried, or a rate is unknown
  double moved_bytes = 0;       // both directions
};
// Returns the hosts in the order of their first ranks. Pure.
std::vector<HostRate> host_rates(const std::vector<Told>& all, const UsedPorts& used = {});

// Reports whether ports alone connect the hosts: NCCL uses its network, no NVLink between hosts
// (MNNVL), and no two hosts are containers of one machine, whose adapter turns traffic around.
// Pure.
bool hosts_meet_at_ports(const std::set<std::string>& kinds, const std::vector<Told>& all);

}  // namespace railgauge::nccl
