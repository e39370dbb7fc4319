// The links between several devices, and the name of a port in its series, which stays the same
// when a driver renames devices.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/dl/verbs.h"
#include "kernels/verbs/rails/rails.h"
#include "kernels/verbs/transport/handles.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// "0000:3b:00.0", or "" for a device that is a netdev's or another one's part.
std::string pci_address_of(const std::string& sysfs) {
  std::error_code error;
  const auto link = std::filesystem::read_symlink(sysfs + "/device", error);
  const std::string name = error ? "" : link.filename().string();
  return std::ranges::count(name, ':') == 2 ? name : "";
}

// The same port of the same device.
bool is_same(const RailPort& one, const RailPort& other) {
  return one.number() == other.number() && one.port() == other.port();
}

}  // namespace

// All devices count, used or not: the number of a rail must not depend on the task.
Result<std::vector<DevicePlace>> device_places() {
  const Verbs& verbs = *RG_TRY(load_verbs());
  int count = 0;
  errno = 0;
  const DeviceListHandle list(verbs.get_device_list(&count));
  if (!list)
    return fail(Code::kFailedPrecondition,
                fmt::format("list the RDMA devices: {}", errno_words(errno)));
  std::vector<DevicePlace> places;
  for (ibv_device* raw : std::span(list.get(), static_cast<std::size_t>(count)))
    places.push_back({verbs.get_device_name(raw), pci_address_of(raw->ibdev_path)});
  return places;
}

// Sorted by PCI address, as the planner sorts them, so that both count alike.
Result<std::uint32_t> rail_number(std::vector<DevicePlace> places, std::string_view name) {
  std::ranges::sort(places, {}, [](const DevicePlace& place) {
    return std::tuple(place.pci_address.empty(), std::string_view(place.pci_address),
                      std::string_view(place.name));
  });
  const auto found = std::ranges::find(places, name, &DevicePlace::name);
  if (found == places.end())
    return fail(Code::kNotFound, fmt::format("{}: find its rail: it is no longer there", name));
  return static_cast<std::uint32_t>(found - places.begin());
}

// Port 1, the usual one, is left out of the word.
std::string rail_word(const RailPort& port) {
  return fmt::format("rail{}{}", port.number(),
                     port.port() == 1 ? "" : fmt::format(":{}", port.port()));
}

// Joins consecutive numbers of one port into a run.
std::string rails_words(std::span<const RailPort> ports) {
  // Ports in their order, each once.
  std::vector<RailPort> once;
  for (const RailPort& port : ports)
    if (std::ranges::none_of(once, [&](const RailPort& other) { return is_same(port, other); }))
      once.push_back(port);
  std::string words = "rails";
  for (std::size_t first = 0; first < once.size();) {
    std::size_t last = first;
    while (last + 1 < once.size() && once[last + 1].port() == once[first].port() &&
           once[last + 1].number() == once[last].number() + 1)
      ++last;
    words += fmt::format("{}{}", first == 0 ? "" : "+", once[first].number());
    if (last > first) words += fmt::format("-{}", once[last].number());
    if (once[first].port() != 1) words += fmt::format(":{}", once[first].port());
    first = last + 1;
  }
  return words;
}

std::vector<RailPair> rail_pairs(std::string_view rails, std::size_t count) {
  std::vector<RailPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    if (rails == "same") pairs.push_back({i, i});
    if (rails == "cross") pairs.push_back({i, (i + 1) % count});
    for (std::size_t k = 0; rails == "all" && k < count; ++k) pairs.push_back({i, k});
  }
  return pairs;
}

// A repeated port would compete with itself and look like a slow rail.
Result<std::vector<std::string>> parse_devices(const std::string& text) {
  const auto words = split(text, ',');
  std::vector<std::string> devices(words.begin(), words.end());
  std::set<std::string> seen;
  for (const std::string& device : devices)
    if (device.empty() || !seen.insert(device).second)
      return fail(
          Code::kInvalidArgument,
          fmt::format("parameter devices: \"{}\" {}; name each port once, as DEV:PORT,DEV:PORT",
                      text, device.empty() ? "has an empty name" : "repeats one"));
  return devices;
}

Result<std::vector<std::string>> one_for_each(std::string_view parameter, const std::string& text,
                                              std::size_t count) {
  const auto words = split(text, ',');
  std::vector<std::string> values(words.begin(), words.end());
  if (values.size() == 1) values.assign(count, values.front());
  if (values.size() == count) return values;
  return fail(Code::kInvalidArgument,
              fmt::format("parameter {}: \"{}\" names {} for {} devices; name one for all, or one "
                          "for each as they are named",
                          parameter, text, values.size(), count));
}

}  // namespace railgauge::verbs
