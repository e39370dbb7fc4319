// Output: the folder that --outDir names; the build of the controller names its share folder.
export default {
  base: './',
  build: {
    target: 'es2020',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
};
