#include "kernels/verbs/transport/device.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

constexpr std::int64_t kAnyPort = -1;

// An endpoint in parts; the device is empty where any will do.
struct Wanted {
  std::string device;
  std::int64_t port = kAnyPort;
};

// The last colon separates: names of devices may contain one.
Result<Wanted> parse_endpoint(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos) return Wanted{endpoint};
  Wanted wanted{endpoint.substr(0, colon)};
  const char* begin = endpoint.data() + colon + 1;
  const char* end = endpoint.data() + endpoint.size();
  const auto [stop, error] = std::from_chars(begin, end, wanted.port);
  if (error != std::errc{} || stop != end || wanted.port < 1 || wanted.port > UINT8_MAX ||
      wanted.device.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("endpoint \"{}\" is not DEVICE:PORT, with a port from 1", endpoint));
  return wanted;
}

// "mlx5_0, mlx5_1", for errors.
std::string names_of(std::span<ibv_device*> devices) {
  std::string names;
  for (ibv_device* device : devices)
    names += (names.empty() ? "" : ", ") + std::string(loaded_verbs().get_device_name(device));
  return names;
}

// The driver of the PCI device, by sysfs; software devices have none.
std::string driver_of(const std::string& sysfs, const ibv_device_attr& attributes) {
  std::error_code error;
  const auto link = std::filesystem::read_symlink(sysfs + "/device/driver", error);
  // A fake with another id acts as hardware, whose rate is a bound.
  constexpr std::uint32_t kFakeVendor = 0xfa4e00;
  if (loaded_verbs().synthetic && attributes.vendor_id == kFakeVendor) return "fake";
  // Software devices on a netdev: their vendor ids are constants of the kernel's drivers.
  constexpr std::uint32_t kRxeVendor = 0xffffff;
  constexpr std::uint32_t kSiwVendor = 0x626d74;
  if (attributes.vendor_id == kRxeVendor) return "rdma_rxe";
  if (attributes.vendor_id == kSiwVendor) return "siw";
  return error ? "unknown" : link.filename().string();
}

// Waives where the device file is absent or not accessible.
tl::unexpected<Error> open_failed(const std::string& name, int error) {
  const bool refused = error == EACCES || error == EPERM;
  return fail(
      refused ? Code::kPermissionDenied : Code::kFailedPrecondition,
      fmt::format("{}: open: {}; its file below /dev/infiniband must be there, and readable "
                  "and writable for this user",
                  name, errno_words(error)));
}

}  // namespace

std::string Device::endpoint() const { return fmt::format("{}:{}", name_, port_); }

bool Device::is_ethernet() const { return port_attributes_.link_layer == IBV_LINK_LAYER_ETHERNET; }

// The larger of both sources: an old library does not know the newest speeds.
double Device::port_rate_bits_per_second() const {
  double gigabits = 0;  // "800 Gb/sec (4X XDR)"
  std::ifstream(sysfs_port() + "/rate") >> gigabits;
  return std::max(1e9 * gigabits, verbs::port_rate_bits_per_second(port_attributes_));
}

// A netdev with the folder master/bonding is a member of that bond.
std::string Device::bond() const {
  std::error_code error;
  std::filesystem::directory_iterator netdev(sysfs_ + "/device/net", error);
  for (; !error && netdev != std::filesystem::directory_iterator(); netdev.increment(error)) {
    const auto master = netdev->path() / "master";
    if (!std::filesystem::exists(master / "bonding", error)) continue;
    const auto target = std::filesystem::read_symlink(master, error);
    return error ? "a bond" : target.filename().string();
  }
  return "";
}

double Device::line_rate_bits_per_second() const {
  return no_bound().empty() ? port_rate_bits_per_second() : 0;
}

// Reasons in the order software, bond, unknown rate; "" where the rate is a bound.
std::string Device::no_bound() const {
  if (!rate_is_physical()) return fmt::format("{} is software, whose rate is only a name", driver_);
  if (const std::string name = bond(); !name.empty())
    return fmt::format("the port is {}'s, and its rate is that of one member", name);
  if (port_rate_bits_per_second() <= 0)
    return fmt::format("speed {} and width {} of the port are not known",
                       port_attributes_.active_speed, port_attributes_.active_width);
  return "";
}

bool Device::is_iwarp() const { return context()->device->transport_type == IBV_TRANSPORT_IWARP; }

// Drivers whose port speed is a constant of their source.
bool Device::rate_is_physical() const {
  return driver_ != "fake" && driver_ != "rdma_rxe" && driver_ != "siw";
}

// Opens and queries the device; the port follows in choose_port().
Result<Device> Device::open_named(ibv_device* raw) {
  const Verbs& verbs = loaded_verbs();
  Device device;
  device.name_ = verbs.get_device_name(raw);
  device.sysfs_ = raw->ibdev_path;
  errno = 0;
  device.context_ = ContextHandle(verbs.open_device(raw));
  if (!device.context_) return open_failed(device.name_, errno);
  if (const int error = verbs.query_device(device.context(), &device.attributes_); error != 0)
    return fail(Code::kInternal,
                fmt::format("{}: query the device: {}", device.name_, errno_words(error)));
  device.driver_ = driver_of(device.sysfs_, device.attributes_);
  return device;
}

// Takes port `wanted`, or the first active one.
Status Device::choose_port(std::int64_t wanted) {
  const unsigned count = attributes_.phys_port_cnt;
  if (wanted > count)
    return fail(Code::kNotFound,
                fmt::format("{} has no port {}; it has ports 1 to {}", name_, wanted, count));
  std::string seen;
  for (unsigned port = 1; port <= count; ++port) {
    if (wanted != kAnyPort && wanted != port) continue;
    port_ = static_cast<std::uint8_t>(port);
    if (const int error = loaded_verbs().query_port(context(), port_, port_attributes_); error != 0)
      return fail(Code::kInternal,
                  fmt::format("{}: query the port: {}", endpoint(), errno_words(error)));
    if (port_attributes_.state == IBV_PORT_ACTIVE) return {};
    seen += fmt::format("{}{} is {}", seen.empty() ? "" : ", ", endpoint(),
                        port_state_words(port_attributes_.state));
  }
  return fail(Code::kFailedPrecondition, fmt::format("{}; an active port is needed", seen));
}

// Without a name the first device with an active port is taken; without any, the refusals of all
// devices are the error.
Result<Device> Device::open(const std::string& endpoint) {
  const Wanted wanted = RG_TRY(parse_endpoint(endpoint));
  const Verbs& verbs = *RG_TRY(load_verbs());
  int count = 0;
  errno = 0;
  const DeviceListHandle list(verbs.get_device_list(&count));
  if (!list)
    return fail(Code::kFailedPrecondition,
                fmt::format("list the RDMA devices: {}", errno_words(errno)));
  const std::span<ibv_device*> devices(list.get(), static_cast<std::size_t>(count));
  if (devices.empty())
    return fail(Code::kNotFound, "there is no RDMA device here; load the adapter's driver");
  std::vector<std::string> refusals;
  for (ibv_device* raw : devices) {
    if (!wanted.device.empty() && wanted.device != verbs.get_device_name(raw)) continue;
    Result<Device> device = open_named(raw);
    const Status chosen =
        device ? device->choose_port(wanted.port) : tl::unexpected(device.error());
    if (chosen) return device;
    if (!wanted.device.empty()) return tl::unexpected(chosen.error());
    refusals.push_back(chosen.error().message);  // whatever is wrong with it, the next may do
  }
  if (!wanted.device.empty())
    return fail(Code::kNotFound, fmt::format("there is no RDMA device {}; there is {}",
                                             wanted.device, names_of(devices)));
  return fail(Code::kFailedPrecondition, fmt::format("{}", fmt::join(refusals, "; ")));
}

std::string Device::sysfs_port() const { return fmt::format("{}/ports/{}", sysfs_, port_); }

// A virtual device has no such file: -1.
int Device::numa_node() const {
  int node = -1;
  std::ifstream(sysfs_ + "/device/numa_node") >> node;
  return node;
}

// Errors name the port.
Result<GidEntry> Device::gid(std::int64_t index) const {
  auto chosen = [&]() -> Result<GidEntry> {
    const std::vector<GidEntry> entries =
        RG_TRY(read_gids(context(), port_, port_attributes_.gid_tbl_len, sysfs_port()));
    if (index < 0) return choose_gid(entries);
    return gid_at(entries, static_cast<std::uint32_t>(index));
  }();
  if (!chosen) chosen.error().message.insert(0, endpoint() + ": ");
  return chosen;
}

}  // namespace railgauge::verbs
