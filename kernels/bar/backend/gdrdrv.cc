// GPU memory through the kernel module gdrdrv, by GDRCopy's library: write-combining on x86. The
// library can also take a dma-buf by itself when the module is absent; that is a path of its own
// here, so such a session is refused.
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "kernels/bar/backend/backend.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::bar {
namespace {

// The module's device; its access rights explain why gdr_open failed.
constexpr const char* kDeviceFile = "/dev/gdrdrv";

// Owner of gdr_t. A failed close is logged, not fatal: the GPU may be gone.
using Session = Handle<ReleasedByTable<gdr::Session, loaded_gdrapi, &Gdrapi::close,
                                       gpu::note_release, "close the gdrdrv session">>;

// Releases before 2.5 leave mapping_type 0; wc_mapping is their only report.
Caching caching_of(const gdr::Info& info) {
  switch (info.mapping_type) {
    case gdr::kMappingWriteCombined:
      return Caching::kWriteCombined;
    case gdr::kMappingCached:
      return Caching::kCached;
    case gdr::kMappingDevice:
      return Caching::kUncached;
    default:
      return info.wc_mapping != 0 ? Caching::kWriteCombined : Caching::kUnknown;
  }
}

// The flag of gdr_map_v2, whose numbers are the mapping types'.
int mapping_of(Caching caching) {
  if (caching == Caching::kWriteCombined) return gdr::kMappingWriteCombined;
  if (caching == Caching::kCached) return gdr::kMappingCached;
  return caching == Caching::kUncached ? gdr::kMappingDevice : gdr::kMapDefault;
}

// The mapping whose handle the library's copies of this thread take; 0: none. They read its kind of
// caching there.
thread_local gdr::Pinned copied;

// Bytes of a call that fails stay uncopied, which the comparison finds.
void write_by_library(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (copied.handle != 0) static_cast<void>(loaded_gdrapi().copy_to(copied, to, from, bytes));
}
void read_by_library(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (copied.handle != 0) static_cast<void>(loaded_gdrapi().copy_from(copied, to, from, bytes));
}

// Memory pinned and mapped by the library. The session must stay open for as long as a mapping
// exists, so the window owns it.
class GdrdrvWindow final : public Window {
 public:
  // Pins whole GPU pages: the ones with `memory` and the following `bytes`.
  GdrdrvWindow(Session session, GpuBuffer own, cu::DevicePtr memory, std::size_t bytes,
               Caching asked)
      : own_(std::move(own)),
        session_(std::move(session)),
        memory_(memory),
        bytes_(bytes),
        asked_(asked) {
    constexpr cu::DevicePtr kPage = GpuBuffer::kPageBytes;
    first_page_ = memory / kPage * kPage;
    pages_bytes_ = (memory + bytes - first_page_ + kPage - 1) / kPage * kPage;
  }
  ~GdrdrvWindow() override {
    static_cast<void>(unmap());
    static_cast<void>(unpin());
  }

  // gdr_pin_buffer with an errno as its result. EINVAL and ENOMEM have a known cause here, which
  // the message names with its remedy.
  Status pin() override {
    const std::string act =
        fmt::format("gdrdrv: gdr_pin_buffer of {}", canonical_bytes(pages_bytes_));
    const int returned =
        loaded_gdrapi().pin_buffer(session_.get(), first_page_, pages_bytes_, 0, 0, &pinned_);
    if (returned == EINVAL && asked_rightly())
      return fail(Code::kFailedPrecondition,
                  fmt::format("{}: {}, although these are whole pages of an allocation: GPU memory "
                              "of this kind cannot be pinned here; use another backend",
                              act, errno_words(returned)));
    if (returned == ENOMEM)
      return fail(Code::kFailedPrecondition,
                  fmt::format("{}: {}: the GPU's window (BAR1) has no room for it; end what else "
                              "maps its memory, ask for smaller sizes, or turn on resizable BAR in "
                              "the firmware",
                              act, errno_words(returned)));
    RG_TRY_OK(gdrapi_status(returned, act));
    is_pinned_ = true;
    return {};
  }

  Status map() override {
    if (asked_ != Caching::kUnknown) return map_as_asked();
    return gdrapi_status(loaded_gdrapi().map(session_.get(), pinned_, &mapped_, pages_bytes_),
                         fmt::format("gdrdrv: gdr_map of {}", canonical_bytes(pages_bytes_)));
  }

  Status get_info() override {
    gdr::Info info;
    return gdrapi_status(loaded_gdrapi().get_info(session_.get(), pinned_, &info),
                         "gdrdrv: gdr_get_info_v2");
  }
  [[nodiscard]] bool has_info() const override { return loaded_gdrapi().get_info != nullptr; }

  Result<OwnCopies> own_copies() override {
    copied = pinned_;
    return OwnCopies{write_by_library, read_by_library};
  }

  // Clears the pointer before the call: a failed unmap is not tried again.
  Status unmap() override {
    if (mapped_ == nullptr) return {};
    if (copied.handle == pinned_.handle) copied = {};
    void* mapped = std::exchange(mapped_, nullptr);
    return gdrapi_status(loaded_gdrapi().unmap(session_.get(), pinned_, mapped, pages_bytes_),
                         "gdrdrv: gdr_unmap");
  }

  Status unpin() override {
    if (!std::exchange(is_pinned_, false)) return {};
    return gdrapi_status(loaded_gdrapi().unpin_buffer(session_.get(), pinned_),
                         "gdrdrv: gdr_unpin_buffer");
  }

  // The mapping begins where gdrdrv reports that it pinned. The query is made here and not in
  // map(), so that the time of map() is that of gdr_map. Where the query is refused, the proof of
  // path.h finds a wrong beginning.
  [[nodiscard]] View view() const override {
    // The mapping begins at gdrdrv's reported address, if there is one. Queried here, so that the
    // time of map() is gdr_map's alone; if refused, the proof would find a wrong beginning.
    const Gdrapi& gdrapi = loaded_gdrapi();
    gdr::Info info;
    if (gdrapi.get_info != nullptr && gdrapi.get_info(session_.get(), pinned_, &info) != 0)
      info = {};
    const cu::DevicePtr begin = info.gpu_address != 0 ? info.gpu_address : first_page_;
    return {static_cast<std::byte*>(mapped_) + (memory_ - begin), memory_, bytes_,
            caching_of(info)};
  }

 private:
  // By gdr_map_v2, which came with release 2.5.
  Status map_as_asked() {
    const Gdrapi& gdrapi = loaded_gdrapi();
    if (gdrapi.map_v2 == nullptr)
      return fail(
          Code::kUnimplemented,
          fmt::format("gdrdrv: ask for a {} mapping: libgdrapi {} cannot; 2.5 and later can",
                      caching_in_words(asked_), gdrapi.version));
    return gdrapi_status(
        gdrapi.map_v2(session_.get(), pinned_, &mapped_, pages_bytes_, mapping_of(asked_)),
        fmt::format("gdrdrv: gdr_map_v2 of {}, {}", canonical_bytes(pages_bytes_),
                    caching_in_words(asked_)));
  }

  // The module returns EINVAL for a wrong address or size, and for right ones in memory that the
  // GPU's driver does not let it pin. Whole GPU pages around bytes of one allocation are right
  // ones.
  [[nodiscard]] bool asked_rightly() const {
    cu::DevicePtr begin = 0;
    std::size_t bytes = 0;
    return first_page_ % GpuBuffer::kPageBytes == 0 && pages_bytes_ > 0 &&
           pages_bytes_ % GpuBuffer::kPageBytes == 0 &&
           loaded_cuda().mem_get_address_range(&begin, &bytes, memory_) == cu::kSuccess &&
           memory_ >= begin && memory_ + bytes_ <= begin + bytes;
  }

  // Freed last; empty when the memory is the caller's.
  GpuBuffer own_;
  Session session_;
  cu::DevicePtr memory_;
  std::size_t bytes_;
  Caching asked_;  // kUnknown: none
  // The GPU page that holds the first byte, and the length of all pages: the range that is pinned.
  cu::DevicePtr first_page_ = 0;
  std::size_t pages_bytes_ = 0;
  gdr::Pinned pinned_;
  // No value of `pinned_` means "none", so a flag records whether it is valid.
  bool is_pinned_ = false;
  void* mapped_ = nullptr;
};

// Sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS. Without it the driver may let copies by the GPU overtake
// those by the CPU.
Status order_copies(cu::DevicePtr memory) {
  const unsigned on = 1;
  return cuda_status(loaded_cuda(),
                     loaded_cuda().pointer_set_attribute(&on, cu::kPointerSyncMemops, memory),
                     "gdrdrv: set SYNC_MEMOPS on the memory");
}

class GdrdrvBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "gdrdrv"; }
  void ask_caching(Caching caching) override { asked_ = caching; }

  Result<std::unique_ptr<Window>> make(const gpu::Gpu& gpu, std::size_t bytes) override {
    Session session = RG_TRY(open());
    GpuBuffer own = RG_TRY(GpuBuffer::allocate(gpu.name(), bytes));
    const cu::DevicePtr memory = own.data();
    RG_TRY_OK(order_copies(memory));
    return std::make_unique<GdrdrvWindow>(std::move(session), std::move(own), memory, bytes,
                                          asked_);
  }

  Result<std::unique_ptr<Window>> adopt(const gpu::Gpu& gpu, cu::DevicePtr memory,
                                        std::size_t bytes) override {
    Session session = RG_TRY(open());
    RG_TRY_OK(check_fixed_memory(gpu, memory));
    RG_TRY_OK(order_copies(memory));
    return std::make_unique<GdrdrvWindow>(std::move(session), GpuBuffer(), memory, bytes, asked_);
  }

  [[nodiscard]] std::string library() const override { return library_; }
  [[nodiscard]] bool synthetic() const override { return synthetic_; }

 private:
  // Opens the library's session, and refuses one that works without the module. Fills the library's
  // fact.
  Result<Session> open() {
    const Gdrapi& gdrapi = *RG_TRY(load_gdrapi());
    synthetic_ = gdrapi.synthetic;
    Session session(gdrapi.open());
    if (!session) {
      // The library reports no reason; the device file does.
      const bool usable = access(kDeviceFile, R_OK | W_OK) == 0;
      const int error = usable ? 0 : errno;
      return fail(error == EACCES ? Code::kPermissionDenied : Code::kFailedPrecondition,
                  usable ? fmt::format("gdrdrv: gdr_open of libgdrapi {}: refused although {} can "
                                       "be opened; module and library may not fit together",
                                       gdrapi.version, kDeviceFile)
                         : fmt::format("gdrdrv: gdr_open: {}: {}; load the module gdrdrv",
                                       kDeviceFile, errno_words(error)));
    }
    int by_dmabuf = 0;
    if (gdrapi.get_attribute != nullptr &&
        gdrapi.get_attribute(session.get(), gdr::kAttributeUsingDmaBufMmap, &by_dmabuf) == 0 &&
        by_dmabuf != 0)
      return fail(Code::kFailedPrecondition,
                  fmt::format("gdrdrv: gdr_open: libgdrapi {} took a dma-buf because the module is "
                              "absent; load the module gdrdrv",
                              gdrapi.version));
    library_ = fmt::format("libgdrapi {}", gdrapi.version);
    int major = 0;
    int minor = 0;
    if (gdrapi.driver_get_version(session.get(), &major, &minor) == 0)
      library_ += fmt::format(", gdrdrv {}.{}", major, minor);
    return session;
  }

  // "libgdrapi 2.6, gdrdrv 2.6" once a session was open.
  std::string library_;
  bool synthetic_ = false;
  Caching asked_ = Caching::kUnknown;
};

}  // namespace

std::unique_ptr<Backend> make_gdrdrv_backend() { return std::make_unique<GdrdrvBackend>(); }

}  // namespace railgauge::bar
