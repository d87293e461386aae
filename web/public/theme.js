// Runs before the first paint, so that a chosen theme never flashes.
(function () {
  try {
    var theme = localStorage.getItem('parley.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch (e) {
    // Storage may be forbidden; then the system's theme is used.
  }
})();
