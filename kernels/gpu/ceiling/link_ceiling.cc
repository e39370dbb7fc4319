// PCIe links from sysfs, and the ceiling that they set for copies.
#include "kernels/gpu/ceiling/link_ceiling.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace railgauge::gpu {
namespace {

// The part of a lane's bits that carry data (PCI Express Base Specification: 8b/10b, 128b/130b,
// FLIT mode).
double coded(double giga_transfers) {
  constexpr double kLast8b10b = 5;
  constexpr double kLast128b130b = 32;
  if (giga_transfers <= kLast8b10b) return 8.0 / 10;
  return giga_transfers <= kLast128b130b ? 128.0 / 130 : 1;
}

// The device's folder in sysfs.
std::string folder_of(const std::string& pci_address, const std::string& sysfs) {
  return sysfs + "/bus/pci/devices/" + pci_address;
}

// Speed and width of the device's link; `which` is "current" or "max". Nothing where sysfs lacks
// them or has no number.
std::optional<PcieLink> read_link(const std::string& folder, const std::string& which) {
  std::ifstream speed_file(folder + "/" + which + "_link_speed");
  std::ifstream width_file(folder + "/" + which + "_link_width");
  PcieLink link;
  std::string unit;
  // "32.0 GT/s PCIe"; "Unknown" does not parse
  if (!(speed_file >> link.giga_transfers >> unit) || unit != "GT/s" || link.giga_transfers <= 0)
    return std::nullopt;
  constexpr int kMostLanes = 32;
  if (!(width_file >> link.lanes) || link.lanes < 1 || link.lanes > kMostLanes) return std::nullopt;
  return link;
}

// The port above a device: its real folder is below the port's. "" where the folder does not
// resolve.
std::string port_of(const std::string& folder) {
  std::error_code unresolved;
  const auto real = std::filesystem::canonical(folder, unresolved);
  return unresolved ? "" : real.parent_path().string();
}

// Whether the port is QEMU's (PCI vendor 0x1b36). It copies the present link of the device that is
// plugged in, but not the device's best link.
bool emulated(const std::string& port) {
  std::string vendor;
  std::ifstream(port + "/vendor") >> vendor;
  return vendor == "0x1b36";
}

std::string words_of(const PcieLink& link) {
  return fmt::format("{} GT/s x{}", link.giga_transfers, link.lanes);
}

}  // namespace

double PcieLink::bytes_per_second() const {
  return giga_transfers * 1e9 / 8 * coded(giga_transfers) * lanes;
}

std::optional<PcieLink> present_link(const std::string& pci_address, const std::string& sysfs) {
  return read_link(folder_of(pci_address, sysfs), "current");
}

// The weaker end bounds the link, where the port above is a real one.
std::optional<PcieLink> possible_link(const std::string& pci_address, const std::string& sysfs) {
  const std::string folder = folder_of(pci_address, sysfs);
  auto link = read_link(folder, "max");
  const std::string port = port_of(folder);
  if (!link || port.empty()) return link;
  const auto of_port = read_link(port, "max");
  if (!of_port || emulated(port) || read_link(port, "current") != read_link(folder, "current"))
    return link;
  link->giga_transfers = std::min(link->giga_transfers, of_port->giga_transfers);
  link->lanes = std::min(link->lanes, of_port->lanes);
  return link;
}

// Names the best link only where it is better than the present one.
std::string link_in_words(const std::string& pci_address, const std::string& sysfs) {
  const auto present = present_link(pci_address, sysfs);
  if (!present) return "";
  const auto possible = possible_link(pci_address, sysfs);
  const bool lower = possible && present->bytes_per_second() < possible->bytes_per_second();
  return words_of(*present) + (lower ? " now, at most " + words_of(*possible) : "");
}

std::optional<double> link_bytes_per_second(const std::string& pci_address,
                                            const std::string& sysfs) {
  const auto present = present_link(pci_address, sysfs);
  return present ? std::optional(present->bytes_per_second()) : std::nullopt;
}

std::optional<double> link_ceiling(const std::string& pci_address, std::optional<double> before,
                                   const std::string& sysfs) {
  const auto now = link_bytes_per_second(pci_address, sysfs);
  if (!before || !now) return std::nullopt;
  const auto possible = possible_link(pci_address, sysfs);
  return std::max({*before, *now, possible ? possible->bytes_per_second() : 0});
}

// kDataLoss: a figure above the ceiling is a failure of the measurement, not a lack of the machine.
Status check_link(const Gpu& gpu, std::optional<double> before, double bytes_per_second) {
  if (RG_TRY(gpu.attribute(cu::kUsesHostPageTables)) != 0) return {};
  const auto ceiling = link_ceiling(gpu.pci_address(), before);
  if (!ceiling || bytes_per_second <= *ceiling) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: measured {:.1f} GB/s, above the {:.1f} GB/s that its PCIe link can "
                          "carry at most, so the figure cannot be right",
                          gpu.name(), bytes_per_second / 1e9, *ceiling / 1e9));
}

}  // namespace railgauge::gpu
