#include "agent/os/resident.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace railgauge::agent {
namespace {

// Whether the loader wrote to the code, whose pages then differ from the file.
bool has_text_relocations(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader returns addresses as numbers
        reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_TEXTREL ||
          (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0))
        return true;
  }
  return false;
}

int give_back_object(dl_phdr_info* object, std::size_t /*bytes of it*/, void* sum) {
  if (has_text_relocations(*object)) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end =
        (object->dlpi_addr + segment.p_vaddr + segment.p_filesz + page - 1) & ~(page - 1);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader returns addresses as numbers
    if (::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0)
      *static_cast<std::size_t*>(sum) += end - begin;
  }
  return 0;
}

}  // namespace

std::size_t give_back_memory() {
  ::malloc_trim(0);
  std::size_t bytes = 0;
  ::dl_iterate_phdr(give_back_object, &bytes);
  return bytes;
}

}  // namespace railgauge::agent
