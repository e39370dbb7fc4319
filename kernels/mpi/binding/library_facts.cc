// Extracts short facts from the text of MPI_Get_library_version(), and the name of an Open MPI
// component from its in-memory record.
#include "kernels/mpi/binding/library_facts.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::mpi {
namespace {

// Layout of Open MPI's mca_base_component_t: the component's type and name are fixed fields.
constexpr std::size_t kTypeOffset = 40;  // after three numbers, the project's name, three numbers
constexpr std::size_t kTypeBytes = 32;
constexpr std::size_t kNameOffset = 84;
constexpr std::size_t kNameBytes = 64;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The text behind "`label`:" on its line.
std::string_view after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + label.size());
  text = text.substr(0, text.find('\n'));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  return trimmed(text.substr(colon + 1));
}

// A field of fixed length that ends at its first NUL.
std::string_view c_string(std::string_view field) { return field.substr(0, field.find('\0')); }

}  // namespace

std::map<std::string, std::string> library_facts(std::string_view text) {
  std::map<std::string, std::string> facts;
  if (text.starts_with("Open MPI v")) {
    text.remove_prefix(std::string_view("Open MPI v").size());
    facts["mpi_version"] = fmt::format("Open MPI {}", text.substr(0, text.find_first_of(",\n")));
    return facts;
  }
  for (const std::string_view name : {"MVAPICH2-GDR", "MVAPICH2", "MVAPICH", "MPICH"}) {
    const std::string label = fmt::format("{} Version", name);
    const std::string_view version = after(text, label);
    if (version.empty()) continue;
    facts["mpi_version"] = fmt::format("{} {}", name, version);
    if (const auto device = after(text, fmt::format("{} Device", name)); !device.empty())
      facts["mpi_device"] = device;
    return facts;
  }
  facts["mpi_version"] = trimmed(text.substr(0, text.find('\n')));
  return facts;
}

std::string component_name(std::string_view record, std::string_view type) {
  if (record.size() < kComponentBytes) return {};
  if (c_string(record.substr(kTypeOffset, kTypeBytes)) != type) return {};
  const std::string_view name = c_string(record.substr(kNameOffset, kNameBytes));
  const bool plain = !name.empty() && name.size() < kNameBytes &&
                     std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f'; });
  return plain ? std::string(name) : std::string();
}

}  // namespace railgauge::mpi
