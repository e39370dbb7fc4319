// Handle<Traits>: the only owner of one C handle, as large as the handle. Traits has
//   using Type = ibv_pd*;  static Type empty() { return nullptr; }  static void release(Type);
// A release that reports failure is a programmer error and CHECKs. Parents outlive children by
// member order. Movable, not copyable. Not thread safe.
#pragma once

#include <utility>

namespace railgauge {

template <class Traits>
class Handle {
 public:
  using Type = typename Traits::Type;

  Handle() = default;
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
  // Gives the handle away without releasing it.
  [[nodiscard]] Type release() { return std::exchange(raw_, Traits::empty()); }
  void reset(Type raw = Traits::empty()) {
    Type old = std::exchange(raw_, raw);
    if (old != Traits::empty()) Traits::release(old);
  }

 private:
  Type raw_ = Traits::empty();
};

}  // namespace railgauge
