// Handle<Traits>: the only owner of one C handle, as large as the handle. Traits has
//   using Type = ibv_pd*;  static Type empty() { return nullptr; }  static void release(Type);
// A release that reports failure is a programmer error and CHECKs. Parents outlive children by
// member order. Movable, not copyable. Not thread safe.
#pragma once

#include <utility>

namespace railgauge {

// Owner of one value of Traits::Type. An empty handle releases nothing.
template <class Traits>
class Handle {
 public:
  using Type = typename Traits::Type;

  Handle() = default;
  // Takes the ownership of `raw`.
  explicit Handle(Type raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  [[nodiscard]] Type get() const { return raw_; }
  explicit operator bool() const { return raw_ != Traits::empty(); }
  // Returns the handle without releasing it; the caller owns it then.
  [[nodiscard]] Type release() { return std::exchange(raw_, Traits::empty()); }
  // Releases the present value and takes `raw`.
  void reset(Type raw = Traits::empty()) {
    Type old = std::exchange(raw_, raw);
    if (old != Traits::empty()) Traits::release(old);
  }

 private:
  Type raw_ = Traits::empty();
};

}  // namespace railgauge
