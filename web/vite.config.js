// SPDX-License-Identifier: Apache-2.0
// `vite build` writes to build/web/dist (tools/build_web.sh says where); `vite` alone serves the sources and passes the
// API on to a daemon at TRACECORE_API, or at the usual port.
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: {
    outDir: process.env.TC_WEB_OUT ?? '../build/web/dist',
    emptyOutDir: true,
    target: 'es2021',
    cssCodeSplit: true,
    // A policy without data: and inline anything: every file is a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/api': { target: process.env.TRACECORE_API ?? 'http://127.0.0.1:4320', changeOrigin: true } },
  },
});
